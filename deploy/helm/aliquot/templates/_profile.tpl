{{- /* What the profile decides; as profile_facts() in src/install/profile.cpp. */ -}}
{{- define "aliquot.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "aliquot.kubeletRoot" -}}
{{- $byProfile := ternary "/var/snap/microk8s/common/var/lib/kubelet" "/var/lib/kubelet" (eq .Values.profile "microk8s") -}}
{{ .Values.agent.kubeletRoot | default $byProfile }}
{{- end -}}

{{- define "aliquot.deviceListStrategy" -}}
{{ .Values.agent.deviceListStrategy | default (ternary "envvar" "cdi-cri" (eq .Values.profile "eks")) }}
{{- end -}}

{{- define "aliquot.apiPort" -}}
{{- $ports := dict "kubeadm" 6443 "microk8s" 16443 "k3s" 6443 "eks" 443 -}}
{{ .Values.apiPort | default (get $ports .Values.profile) | int }}
{{- end -}}

{{- define "aliquot.taintKey" -}}
{{- . | splitList ":" | first | splitList "=" | first -}}
{{- end -}}
{{- define "aliquot.ownToleration" -}}
{{- $key := include "aliquot.taintKey" . -}}
{{- if ne $key "nvidia.com/gpu" -}}
- key: {{ $key | quote }}
  operator: Exists
{{- end -}}
{{- end -}}
