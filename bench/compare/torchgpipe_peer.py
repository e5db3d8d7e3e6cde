"""torchgpipe with two partitions on two CPU "devices".

torchgpipe starts one worker thread for each distinct device and takes all CPU devices for one (its worker.py), so two
CPU partitions go forward in turn; `worker_per_stage` gives each a thread. Backward stays on one thread either way:
PyTorch's autograd runs all CPU nodes in the thread that calls backward. With checkpoint "except_last", its default,
all micro-batches but the last go forward a second time in backward.
"""

import contextlib

import torch
import torchgpipe.pipeline
from torchgpipe import GPipe
from torchgpipe.balance import balance_by_time
from torchgpipe.worker import spawn_workers

import network
import training
from data import Data


@contextlib.contextmanager
def worker_for_each(devices):
    with contextlib.ExitStack() as stack:
        queues = [stack.enter_context(spawn_workers([device])) for device in devices]
        yield [inputs[0] for inputs, _ in queues], [outputs[0] for _, outputs in queues]


def main():
    config = training.read_config()
    torch.set_num_threads(config["threads"])
    if config["worker_per_stage"]:
        torchgpipe.pipeline.spawn_workers = worker_for_each
    data = Data(config)
    net = network.loaded(config["weights"], config["layout"])
    balance = balance_by_time(2, net, data.train_batch(0).images, device="cpu")
    pipe = GPipe(net, balance, devices=["cpu", "cpu"], chunks=config["micro_batches"], checkpoint=config["checkpoint"])

    def step(batch):
        pipe.train()
        loss = training.mean_loss(pipe(batch.images), batch.labels)
        loss.backward()
        return loss.detach()

    def predict(batch):
        pipe.eval()
        return pipe(batch.images)

    result = training.train(config, data, training.optimizer(config, pipe.parameters()), step, predict)
    training.write_result(config, {**result, "stages": balance})


main()
