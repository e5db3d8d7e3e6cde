"""torch.distributed.pipelining: two processes over Gloo, one thread and one core each."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torchgpipe.balance import balance_by_time

import network
import training
from data import Data

SCHEDULES = {"GPipe": ScheduleGPipe, "1F1B": Schedule1F1B}


class Schedules:
    """A stage keeps the shapes of its first call, so each batch size gets a schedule of its own, evaluation too."""

    def __init__(self, config, part, rank):
        self._config, self._part, self._rank, self._made = config, part, rank, {}

    def get(self, rows, training_mode):
        key = rows, training_mode
        if key not in self._made:
            stage = PipelineStage(self._part, self._rank, 2, torch.device("cpu"))
            parts = self._config["micro_batches"]
            self._made[key] = (SCHEDULES[self._config["schedule"]](stage, parts, loss_fn=training.mean_loss)
                               if training_mode else ScheduleGPipe(stage, parts))
        return self._made[key]


def process(rank, config, port):
    os.sched_setaffinity(0, {config["cores"][rank]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    data = Data(config)
    net = network.loaded(config["weights"], config["layout"])
    # It has no balancing of its own: torchgpipe's, timed on rank 0.
    balance = balance_by_time(2, net, data.train_batch(0).images, device="cpu") if rank == 0 else None
    shared = [balance]
    dist.broadcast_object_list(shared, 0)
    cut = shared[0][0]
    part = net[:cut] if rank == 0 else net[cut:]
    schedules = Schedules(config, part, rank)

    def step(batch):
        part.train()
        schedule = schedules.get(len(batch), True)
        if rank == 0:
            schedule.step(batch.images)
            return None
        losses = []
        schedule.step(target=batch.labels, losses=losses)
        return torch.stack(losses).mean().detach()

    def predict(batch):
        part.eval()
        schedule = schedules.get(len(batch), False)
        return schedule.eval(batch.images) if rank == 0 else schedule.eval()

    dist.barrier()
    result = training.train(config, data, training.optimizer(config, part.parameters()), step, predict)
    if rank == 1:
        training.write_result(config, {**result, "stages": shared[0]})
    dist.barrier()
    dist.destroy_process_group()


def main():
    config = training.read_config()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(process, (config, port), nprocs=2)


if __name__ == "__main__":
    main()
