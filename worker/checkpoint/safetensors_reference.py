"""Checks FreezePipe's safetensors files against the reference reader and writer.

read FILE: every tensor of FILE must be arange(n) of its own type and shape, and its metadata
{"format": "pt"}.
write FILE: writes such tensors.
"""
import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file

DTYPES = {'f64': torch.float64, 'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16,
          'i64': torch.int64, 'i32': torch.int32, 'u8': torch.uint8, 'bool': torch.bool}
SHAPES = {'scalar': (), 'vector': (5,), 'empty': (0, 3), 'matrix': (3, 7)}


def expected():
    tensors = {}
    for type_name, dtype in DTYPES.items():
        for shape_name, shape in SHAPES.items():
            count = torch.Size(shape).numel()
            tensors[f'{type_name}.{shape_name}'] = torch.arange(count).to(dtype).reshape(shape)
    return tensors


def read(path):
    with safe_open(path, framework='pt') as f:
        assert f.metadata() == {'format': 'pt'}, f.metadata()
        want = expected()
        assert set(f.keys()) == set(want), sorted(f.keys())
        for name, tensor in want.items():
            got = f.get_tensor(name)
            assert got.dtype == tensor.dtype and torch.equal(got, tensor), (name, got, tensor)


if sys.argv[1] == 'read':
    read(sys.argv[2])
else:
    save_file(expected(), sys.argv[2], metadata={'format': 'pt'})
