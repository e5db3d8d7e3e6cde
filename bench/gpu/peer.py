"""One rank of a peer, started by torchrun: 1F1B of torch.distributed.pipelining, or DistributedDataParallel, on NCCL
(or, without CUDA, on Gloo). Its argument is a JSON file of settings; rank 0 or the last stage writes the result."""

import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.nn.parallel import DistributedDataParallel

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "compare")]
import training
from data import Data
from networks import NETWORKS


def optimizer(config, parameters):
    if config["optimizer"] == "AdamW":
        return torch.optim.AdamW(parameters, config["lr"], weight_decay=config["weight_decay"])
    return torch.optim.SGD(parameters, config["lr"], momentum=0.9, weight_decay=config["weight_decay"])


def memory_format(config):
    return torch.channels_last if config["layout"] == "ChannelsLast" else torch.contiguous_format


def data_parallel(config, device, rank, ranks):
    data = Data(config)
    # Each rank evaluates its share; shares are of one size.
    data.test_images, data.test_labels = data.test_images[rank::ranks], data.test_labels[rank::ranks]
    net = NETWORKS[config["network"]]().to(device, memory_format=memory_format(config))
    net = DistributedDataParallel(net, device_ids=[device.index] if device.type == "cuda" else None)

    def step(batch):
        net.train()
        loss = training.mean_loss(net(batch.images[rank::ranks].to(device)), batch.labels[rank::ranks].to(device))
        loss.backward()
        return loss.detach()

    def predict(batch):
        net.eval()
        return net.module(batch.images.to(device)).cpu()

    dist.barrier()
    result = training.train(config, data, optimizer(config, net.parameters()), step, predict)
    accuracies = torch.tensor(result["accuracies"], device=device)
    dist.all_reduce(accuracies)
    return {**result, "accuracies": (accuracies / ranks).tolist()} if rank == 0 else None


def one_f_one_b(config, device, rank, ranks):
    data = Data(config)
    net = NETWORKS[config["network"]]()
    shared = [cuts(net, data.train_batch(0).images, ranks, device) if rank == 0 else None]
    dist.broadcast_object_list(shared, 0, device=device)
    begin = sum(shared[0][:rank])
    part = net[begin:begin + shared[0][rank]].to(device)
    stages, last = {}, rank == ranks - 1

    def schedule(rows, train):
        # A stage keeps the shapes of its first call.
        if (rows, train) not in stages:
            stage = PipelineStage(part, rank, ranks, device)
            parts = config["micro_batches"]
            stages[rows, train] = (Schedule1F1B(stage, parts, loss_fn=training.mean_loss) if train
                                   else ScheduleGPipe(stage, parts))
        return stages[rows, train]

    def step(batch):
        part.train()
        losses = []
        inputs = [batch.images.to(device)] if rank == 0 else []
        told = {"target": batch.labels.to(device), "losses": losses} if last else {}
        schedule(len(batch), True).step(*inputs, **told)
        return torch.stack(losses).mean().detach() if last else None

    def predict(batch):
        part.eval()
        logits = schedule(len(batch), False).eval(*([batch.images.to(device)] if rank == 0 else []))
        return logits.cpu() if last else None

    dist.barrier()
    result = training.train(config, data, optimizer(config, part.parameters()), step, predict)
    return {**result, "stages": shared[0]} if last else None


def cuts(net, sample, ranks, device):
    """torch.distributed.pipelining leaves the balance to its user: torchgpipe's, by time."""
    from torchgpipe.balance import balance_by_time
    return balance_by_time(ranks, net, sample, device=device)


def main():
    config = training.read_config()
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(config["seed"])
    result = {"ddp": data_parallel, "1f1b": one_f_one_b}[config["peer"]](config, device, rank, ranks)
    if result:
        training.write_result(config, result)
    dist.barrier()
    dist.destroy_process_group()


main()
