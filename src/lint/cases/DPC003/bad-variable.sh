#!/bin/bash
SHARES=${1:-4}
cat <<EOF > /tmp/shares.yaml
version: v1
sharing:
  timeSlicing:
    replicas: $SHARES
EOF
