resource "aws_eks_node_group" "gpu" {
  cluster_name    = "ci"
  node_group_name = "gpu"
  node_role_arn   = aws_iam_role.node.arn
  subnet_ids      = var.subnet_ids
  ami_type        = "AL2023_x86_64_STANDARD"
  capacity_type   = "spot"
  instance_types  = ["g4dn.3xlarge"]
  scaling_config {
    desired_size = 6
    max_size     = 5
    min_size     = 0
  }
  taints {
    key    = "nvidia.com/gpu"
    value  = "true"
    effect = "NoSchedule"
  }
}
