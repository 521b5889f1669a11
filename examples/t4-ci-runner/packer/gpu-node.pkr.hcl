# The image of a GPU node: EKS' own one with NVIDIA's driver, and with the images of the tests already on its disk, so that
# a job's pod does not wait for gigabytes. packer init . && packer build -var kubernetes=1.34 .
packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "~> 1.3"
    }
  }
}

variable "kubernetes" {
  type        = string
  description = "Minor version of the cluster"
}

variable "region" {
  type    = string
  default = "us-west-2"
}

variable "images" {
  type        = list(string)
  description = "Pulled in advance"
  default     = ["docker.io/pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel"]
}

source "amazon-ebs" "gpu" {
  ami_name      = "eks-gpu-ci-${var.kubernetes}-{{timestamp}}"
  instance_type = "g4dn.xlarge" # with a GPU: the driver is tried before the image is kept
  region        = var.region
  ssh_username  = "ec2-user"

  source_ami_filter {
    filters = {
      name         = "amazon-eks-node-al2023-x86_64-nvidia-${var.kubernetes}-*"
      architecture = "x86_64"
    }
    owners      = ["amazon"]
    most_recent = true
  }

  launch_block_device_mappings {
    device_name           = "/dev/xvda"
    volume_size           = 60
    volume_type           = "gp3"
    delete_on_termination = true
  }

  metadata_options {
    http_tokens = "required"
  }

  tags = {
    Base = "{{ .SourceAMIName }}"
  }
}

build {
  sources = ["source.amazon-ebs.gpu"]

  # No driver, no image.
  provisioner "shell" {
    inline = [
      "nvidia-smi --query-gpu=name,driver_version --format=csv,noheader",
      "sudo systemctl enable --now nvidia-persistenced",
      "nvidia-smi --query-gpu=persistence_mode --format=csv,noheader | grep -qx Enabled",
    ]
  }

  provisioner "shell" {
    inline = concat(
      ["sudo systemctl start containerd"],
      [for image in var.images : "sudo ctr --namespace k8s.io images pull ${image}"],
    )
  }
}
