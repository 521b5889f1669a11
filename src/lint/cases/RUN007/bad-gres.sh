#!/bin/bash
#SBATCH --job-name=train
#SBATCH --gres=gpus:2
#SBATCH --time=04:00:00
srun python train.py
