"""PyTorch DistributedDataParallel: two processes over Gloo, one thread and one core and half of every batch each."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

import network
import training
from data import Data

RANKS = 2


def process(rank, config, port):
    os.sched_setaffinity(0, {config["cores"][rank]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
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
    dist.barrier()
    dist.destroy_process_group()


def main():
    config = training.read_config()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(process, (config, port), nprocs=RANKS)


if __name__ == "__main__":
    main()
