"""Peers that are two processes, one core and one thread each, in a Gloo group."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 2


def run(train, config):
    """train(rank, config) in each of them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(_process, (train, config, port), nprocs=RANKS)


def _process(rank, train, config, port):
    os.sched_setaffinity(0, {config["cores"][rank]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    train(rank, config)
    dist.barrier()
    dist.destroy_process_group()
