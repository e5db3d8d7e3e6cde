"""PyTorch DistributedDataParallel: two processes over Gloo, one thread and one core and half of every batch each."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import network
import processes
import training
from data import Data
from processes import RANKS


def train(rank, config):
    data = Data(config, share=(rank, RANKS))
    net = DistributedDataParallel(network.loaded(config["weights"], config["layout"]))

    def step(batch):
        net.train()
        loss = training.mean_loss(net(batch.images), batch.labels)
        loss.backward()
        return loss.detach()

    def predict(batch):
        net.eval()
        mine = net.module(batch.images.chunk(RANKS)[rank])
        parts = [torch.empty_like(mine) for _ in range(RANKS)]
        dist.all_gather(parts, mine)
        return torch.cat(parts)

    dist.barrier()
    result = training.train(config, data, training.optimizer(config, net.parameters()), step, predict)
    if rank == 0:
        training.write_result(config, result)


if __name__ == "__main__":
    processes.run(train, training.read_config())
