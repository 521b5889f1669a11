terraform {
  required_version = ">= 1.5"
}

variable "subnet_ids" {
  type        = list(string)
  description = "Of the nodes"
}

resource "aws_eks_node_group" "gpu" {
  for_each        = toset(["SPOT", "ON_DEMAND"])
  cluster_name    = var.cluster
  node_group_name = "gpu-${lower(each.key)}"
  node_role_arn   = aws_iam_role.node.arn
  subnet_ids      = var.subnet_ids
  ami_type        = "AL2023_x86_64_NVIDIA"
  capacity_type   = each.key
  instance_types  = ["g4dn.2xlarge"]
  labels          = { role = "gpu" }
  scaling_config {
    desired_size = 0
    max_size     = 5
    min_size     = 0
  }
  dynamic "taint" {
    for_each = var.taints
    content {
      key    = taint.value.key
      effect = "NO_SCHEDULE"
    }
  }
  lifecycle {
    ignore_changes = [scaling_config[0].desired_size]
  }
}

output "groups" {
  value = [for group in aws_eks_node_group.gpu : group.arn]
}
