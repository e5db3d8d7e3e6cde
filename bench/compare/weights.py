"""The file of initial weights of each setting and seed: FreezePipe and its peers start from the same numbers."""

import pathlib
import shutil
import tempfile

from safetensors.torch import load_file, save_file

import network
import pretraining
from settings import SETTINGS


def pretrained(folder, cifar10, bin_dir):
    path = folder / "pretrained.safetensors"
    if not path.exists():
        print("Pretraining the network that is fine-tuned (minutes)", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(pretraining.pretrain(cifar10, pathlib.Path(scratch), bin_dir), path)
    return load_file(path)


def initial(folder, setting, seed, cifar10, bin_dir):
    """The file's path; made unless it is there."""
    path = folder / f"{setting}-{seed}.safetensors"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        tensors = network.initial_weights(seed)
        if SETTINGS[setting].pretrained:
            body = pretrained(folder, cifar10, bin_dir)
            tensors.update({name: value for name, value in body.items() if not name.startswith("head.")})
        save_file(tensors, path)
    return str(path)
