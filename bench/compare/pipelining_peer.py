"""torch.distributed.pipelining: two processes over Gloo, one thread and one core each."""

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torchgpipe.balance import balance_by_time

import network
import processes
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


def train(rank, config):
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


if __name__ == "__main__":
    processes.run(train, training.read_config())
