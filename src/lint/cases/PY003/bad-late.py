import os
import torch
print(torch.cuda.device_count())
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
