locals {
  limits = {
    "nvidia.com/gpu" = 1
  }
}
