#!/bin/bash
#SBATCH --gpus-per-nodes=4
#SBATCH --time=01:00:00
srun python t.py
