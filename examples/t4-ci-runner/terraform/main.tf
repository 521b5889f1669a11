# Node groups of T4s for CI, one for spot machines and one for the rest, in a cluster that is there already.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

locals {
  # What the jobs' pods select: aliquot runner values writes both.
  labels = {
    "aliquot.dev/pool" = "gpu-ci"
    "role"             = "gpu"
  }
  taint = {
    key   = "nvidia.com/gpu"
    value = "true"
  }

  # An empty group has no node to look at: from these tags Cluster Autoscaler knows what one would be like.
  # aliquot pool render cluster/pool.yaml --tags
  autoscaler_tags = {
    "k8s.io/cluster-autoscaler/enabled"                                                 = "true"
    "k8s.io/cluster-autoscaler/node-template/label/aliquot.dev/pool"                    = "gpu-ci"
    "k8s.io/cluster-autoscaler/node-template/label/role"                                = "gpu"
    "k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu"                      = "true:NoSchedule"
    "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"                  = "1"
    "k8s.io/cluster-autoscaler/node-template/autoscaling-options/scaledownunneededtime" = "300s"
  }
}

resource "aws_iam_role" "node" {
  name_prefix = "gpu-ci-node-"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each   = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"])
  role       = aws_iam_role.node.name
  policy_arn = "arn:aws:iam::aws:policy/${each.key}"
}

resource "aws_launch_template" "gpu" {
  name_prefix            = "gpu-ci-"
  update_default_version = true
  # Empty: EKS' own image with NVIDIA's driver. Of an image of one's own EKS hands nothing to kubelet: see user_data.
  image_id  = var.node_image_id == "" ? null : var.node_image_id
  user_data = var.node_image_id == "" ? null : base64encode(local.user_data)

  block_device_mappings {
    device_name = "/dev/xvda"
    ebs {
      volume_size           = 150 # CUDA images are large, and ccache lies here, too
      volume_type           = "gp3"
      encrypted             = true
      delete_on_termination = true
    }
  }

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1 # jobs run foreign code: their pods do not reach the node's credentials
  }
}

resource "aws_eks_node_group" "gpu" {
  for_each               = toset(["SPOT", "ON_DEMAND"])
  cluster_name           = var.cluster_name
  node_group_name_prefix = "gpu-ci-${lower(replace(each.key, "_", "-"))}-"
  node_role_arn          = aws_iam_role.node.arn
  subnet_ids             = var.subnet_ids
  ami_type               = var.node_image_id == "" ? "AL2023_x86_64_NVIDIA" : "CUSTOM"
  capacity_type          = each.key
  instance_types         = ["g4dn.2xlarge"] # of one size only: the autoscaler reckons with the first
  labels                 = local.labels

  launch_template {
    id      = aws_launch_template.gpu.id
    version = aws_launch_template.gpu.latest_version
  }

  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = 5
  }

  taint {
    key    = local.taint.key
    value  = local.taint.value
    effect = "NO_SCHEDULE" # as EKS spells it; NoSchedule is refused
  }

  # Cluster Autoscaler changes it.
  lifecycle {
    ignore_changes        = [scaling_config[0].desired_size]
    create_before_destroy = true
  }

  depends_on = [aws_iam_role_policy_attachment.node]
}

# Tags of a node group do not reach its Auto Scaling group by themselves.
resource "aws_autoscaling_group_tag" "gpu" {
  for_each = {
    for pair in setproduct(keys(aws_eks_node_group.gpu), keys(local.autoscaler_tags)) :
    "${pair[0]} ${pair[1]}" => { group = pair[0], key = pair[1] }
  }
  autoscaling_group_name = aws_eks_node_group.gpu[each.value.group].resources[0].autoscaling_groups[0].name
  tag {
    key                 = each.value.key
    value               = local.autoscaler_tags[each.value.key]
    propagate_at_launch = false
  }
}
