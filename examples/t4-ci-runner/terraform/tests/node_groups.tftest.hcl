# terraform init && terraform test: plans and makes all of it against a provider that is played. No account is needed.
mock_provider "aws" {
  mock_resource "aws_eks_node_group" {
    defaults = {
      resources = [{ autoscaling_groups = [{ name = "asg" }], remote_access_security_group_id = "" }]
    }
  }
  mock_data "aws_eks_cluster" {
    defaults = {
      endpoint                  = "https://cluster.example"
      certificate_authority     = [{ data = "Y2E=" }]
      kubernetes_network_config = [{ service_ipv4_cidr = "10.100.0.0/16" }]
    }
  }
}

variables {
  cluster_name = "ci"
  subnet_ids   = ["subnet-0123"]
}

run "image_of_eks" {
  assert {
    condition     = toset([for group in aws_eks_node_group.gpu : group.capacity_type]) == toset(["SPOT", "ON_DEMAND"])
    error_message = "expected a group of spot machines and one of the others"
  }
  assert {
    condition     = alltrue([for group in aws_eks_node_group.gpu : group.ami_type == "AL2023_x86_64_NVIDIA"])
    error_message = "expected the image with NVIDIA's driver"
  }
  assert {
    condition     = aws_launch_template.gpu.user_data == null
    error_message = "EKS brings its own user data"
  }
  assert {
    condition     = length(aws_autoscaling_group_tag.gpu) == 2 * length(local.autoscaler_tags)
    error_message = "expected every tag on the Auto Scaling group of each node group"
  }
}

run "image_of_packer" {
  variables {
    node_image_id = "ami-0123456789abcdef0"
  }
  assert {
    condition     = alltrue([for group in aws_eks_node_group.gpu : group.ami_type == "CUSTOM"])
    error_message = "an image of one's own is of the type CUSTOM"
  }
  assert {
    condition     = strcontains(base64decode(aws_launch_template.gpu.user_data), "--node-labels=aliquot.dev/pool=gpu-ci,role=gpu")
    error_message = "the nodes join without their labels"
  }
  assert {
    condition     = strcontains(base64decode(aws_launch_template.gpu.user_data), "--register-with-taints=nvidia.com/gpu=true:NoSchedule")
    error_message = "the nodes join without their taint"
  }
}
