"""The network that the setting `finetune` starts from: trained 15 epochs (lr 0.1, flip and crop) on images that no setting
trains on, whose classes were paired by likeness to five."""

import common

RECORD = 1 + 3072
# plane and ship, car and truck, bird and frog, cat and dog, deer and horse
PAIR_OF_CLASS = [0, 1, 2, 3, 4, 3, 2, 4, 0, 1]


def write_pretraining_data(source, folder):
    """20,000 images that no setting trains on (the third and the fourth batch file), ten classes paired to five."""
    folder.mkdir(parents=True, exist_ok=True)

    def paired(*names):
        records = bytearray(b"".join((source / name).read_bytes() for name in names))
        for at in range(0, len(records), RECORD):
            records[at] = PAIR_OF_CLASS[records[at]]
        return records

    train = paired("data_batch_3.bin", "data_batch_4.bin")
    part = 4_000 * RECORD  # the format wants five files
    for k in range(5):
        (folder / f"data_batch_{k + 1}.bin").write_bytes(train[k * part:(k + 1) * part])
    (folder / "test_batch.bin").write_bytes(paired("test_batch.bin"))


def pretrain(cifar10, scratch, bin_dir):
    """Path of the weights, in `scratch`."""
    data = scratch / "pretraining"
    write_pretraining_data(cifar10, data)
    spec = common.cifar_spec(data, train=20_000, epochs=15, lr=0.1)
    spec["dataset"]["classes"] = [0, 1, 2, 3, 4]
    spec["dataset"]["augmentation"] = {"randomCropPadding": 4, "randomHorizontalFlip": True}
    summary, _ = common.run(spec, scratch / "pretrain", bin_dir)
    print(f"pretrained: {100 * summary['accuracy']:.1f} % on the paired classes", flush=True)
    return scratch / "pretrain" / "output" / "model.safetensors"
