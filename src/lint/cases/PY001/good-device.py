import os
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
import torch
import torch.distributed as dist
dist.init_process_group(backend="nccl")
torch.cuda.set_per_process_memory_fraction(0.5)
model = torch.nn.Linear(8, 8).to("cuda:1")
