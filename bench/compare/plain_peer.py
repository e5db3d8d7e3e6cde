"""A plain PyTorch loop in one process. The whole batch at once, or, to be compared with pipelines loss by loss, in
micro-batches."""

import torch

import network
import training
from data import Data


def main():
    config = training.read_config()
    torch.set_num_threads(config["threads"])
    data = Data(config)
    net = network.loaded(config["weights"], config["layout"])
    parts = config["micro_batches"]

    def step(batch):
        net.train()
        total = 0
        for images, labels in zip(batch.images.chunk(parts), batch.labels.chunk(parts)):
            loss = training.mean_loss(net(images), labels) * (len(labels) / len(batch.labels))
            loss.backward()
            total += loss.detach()
        return total

    def predict(batch):
        net.eval()
        return net(batch.images)

    training.write_result(config, training.train(config, data, training.optimizer(config, net.parameters()), step,
                                                 predict))


main()
