{{/* Name of what a release has, and of its detector. */}}
{{- define "penstock.detector" -}}
{{ .Values.detector | default .Release.Name }}
{{- end }}

{{- define "penstock.selector" -}}
app.kubernetes.io/name: penstock
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "penstock.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "penstock.selector" . }}
{{- end }}

{{- define "penstock.image" -}}
image: {{ printf "%s:%s" .Values.image.repository .Values.image.tag | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* Ports of the pipeline with this index: HTTP, workers, and its forward entry. */}}
{{- define "penstock.pages" -}}{{ add 5100 (mul 10 .) }}{{- end }}
{{- define "penstock.listen" -}}{{ add 5101 (mul 10 .) }}{{- end }}
{{- define "penstock.frames" -}}{{ add 5200 . }}{{- end }}

{{/* File of the receiver. JSON is YAML, and writes 1000000 where toYaml would write 1e+06. */}}
{{- define "penstock.receiverFile" -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" .Release.Name) }}{{ fail (printf "%s cannot be the name of a release: its Services need lower-case letters, digits and -, with a letter first" .Release.Name) }}{{ end }}
{{- if has .Values.receiver.data_root (list "/tmp" "/dev/shm" "/etc/penstock" "/etc/penstock-key") }}{{ fail (printf "receiver.data_root: %s is taken in the pod; mount the storage elsewhere" .Values.receiver.data_root) }}{{ end }}
{{- $forward := .Values.receiver.forward | default list }}
{{- $names := list }}
{{- $inside := 0 }}
{{- range .Values.pipelines }}{{ if .inReceiverPod }}{{ $inside = add1 $inside }}{{ end }}{{ end }}
{{- range $index, $pipeline := .Values.pipelines }}
{{- if has $pipeline.name $names }}{{ fail (printf "pipelines: two pipelines are named %s" $pipeline.name) }}{{ end }}
{{- $names = append $names $pipeline.name }}
{{- range $forward }}
{{- if eq .name $pipeline.name }}{{ fail (printf "receiver.forward: the name %s is that of a pipeline, which has an entry of its own" .name) }}{{ end }}
{{- end }}
{{- $entry := dict "name" $pipeline.name "endpoint" (printf "tcp://0.0.0.0:%s" (include "penstock.frames" $index)) "page" (printf "http://%s-%s:%s" $.Release.Name $pipeline.name (include "penstock.pages" $index)) }}
{{- if $pipeline.inReceiverPod }}{{ $entry = merge $entry (dict "shared" true "queue_mb" (int (div $.Values.sharedMemoryMb (mul 2 $inside)))) }}{{ end }}
{{- $forward = append $forward $entry }}
{{- end }}
{{- $keys := dict "http" "0.0.0.0:5000" "detector" (include "penstock.detector" .) }}
{{- if $forward }}{{ $_ := set $keys "forward" $forward }}{{ end }}
{{- dict "receivers" (dict (include "penstock.detector" .) (mergeOverwrite (deepCopy .Values.receiver) $keys)) | toPrettyJson }}
{{- end }}

{{/* Refuse `y: 5`, which is `true: 5` for helm; of a dict of where, value. */}}
{{- define "penstock.quoted" -}}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- if has $key (list "true" "false") }}{{ fail (printf "%s: a key is %s; helm takes y, n, on and off for true and false: write them in quotes, such as \"y\": 5" $.where $key) }}{{ end }}
{{- include "penstock.quoted" (dict "where" (printf "%s.%s" $.where $key) "value" $value) }}
{{- end }}
{{- end }}
{{- end }}

{{/* File of a pipeline; of a dict of root, index, pipeline. */}}
{{- define "penstock.pipelineFile" -}}
{{- include "penstock.quoted" (dict "where" (printf "pipelines: %s" .pipeline.name) "value" .pipeline) }}
{{- $file := .pipeline.processor | default "" | regexFind "^[^/:]+[.]py" }}
{{- if and $file (not (hasKey (.pipeline.files | default dict) $file)) }}{{ fail (printf "pipelines: %s: processor %s names a file that is not in files; give it there, or the path of one on the storage" .pipeline.name .pipeline.processor) }}{{ end }}
{{- $receiver := ternary "http://127.0.0.1:5000" (printf "http://%s-receiver:5000" .root.Release.Name) (default false .pipeline.inReceiverPod) }}
{{- $keys := dict "receiver" $receiver "consumer" .pipeline.name "workers" (.pipeline.localWorkers | default 0)
    "http" (printf "0.0.0.0:%s" (include "penstock.pages" .index))
    "listen" (printf "tcp://0.0.0.0:%s" (include "penstock.listen" .index)) "key" "/etc/penstock-key/workers.key" }}
{{- mergeOverwrite (omit (deepCopy .pipeline) "localWorkers" "inReceiverPod" "files" "resources" "nodeSelector" "tolerations") $keys | toPrettyJson }}
{{- end }}

{{/* Ports of the forward entries in `receiver.forward`. */}}
{{- define "penstock.forwardPorts" -}}
{{- range $index, $entry := .Values.receiver.forward }}
{{- if hasPrefix "tcp://" $entry.endpoint }}
{{- $port := regexFind ":[1-9][0-9]*$" $entry.endpoint | trimPrefix ":" }}
{{- if not $port }}{{ fail (printf "receiver.forward: %s: give %s a port, by which the Service reaches it" $entry.name $entry.endpoint) }}{{ end }}
{{- if or (eq (int $port) 5000) (and (ge (int $port) 5100) (lt (int $port) 5300)) }}{{ fail (printf "receiver.forward: %s: port %s is one of the chart's own (5000, 5100 to 5299)" $entry.name $port) }}{{ end }}
- {name: forward-{{ $index }}, port: {{ $port }}}
{{- end }}
{{- end }}
{{- end }}

{{/* Number of pods: that of the values, or, where these have not changed, what they were scaled to since. Of a dict of
     root, name, count. Server-side apply refuses another number than that of whoever has scaled last. */}}
{{- define "penstock.replicas" -}}
{{- $living := lookup "apps/v1" "Deployment" .root.Release.Namespace .name }}
{{- $asked := dig "metadata" "annotations" "penstock/replicas" "" ($living | default dict) }}
{{- if eq $asked (toString .count) }}{{ dig "spec" "replicas" .count $living }}{{ else }}{{ .count }}{{ end }}
{{- end }}

{{/* Rights and place of a pod; of a dict of root, and where wanted nodeSelector, tolerations, token. */}}
{{- define "penstock.pod" -}}
automountServiceAccountToken: {{ .token | default false }}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .root.Values.user }}
  runAsGroup: {{ .root.Values.group }}
  {{- with .root.Values.supplementalGroups }}
  supplementalGroups: {{ toJson . }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- with .nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
# Kubernetes' own default are five minutes without a receiver when its node is lost.
tolerations:
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 10}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 10}
  {{- range .tolerations }}
  - {{ toJson . }}
  {{- end }}
{{- end }}

{{- define "penstock.security" -}}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
{{- end }}

{{/* Container of a pipeline; of a dict of root, index, pipeline. */}}
{{- define "penstock.pipelineContainer" -}}
- name: {{ .pipeline.name }}
  {{- include "penstock.image" .root | nindent 2 }}
  args: [process, /etc/penstock/{{ .pipeline.name }}/pipeline.yaml]
  ports:
    - {name: pages, containerPort: {{ include "penstock.pages" .index }}}
    - {name: workers, containerPort: {{ include "penstock.listen" .index }}}
  startupProbe: {httpGet: {path: /health, port: {{ include "penstock.pages" .index }}}, periodSeconds: 1, failureThreshold: 120}
  livenessProbe: {httpGet: {path: /health, port: {{ include "penstock.pages" .index }}}, periodSeconds: 5, timeoutSeconds: 3}
  {{- include "penstock.security" .root | nindent 2 }}
  {{- if .pipeline.inReceiverPod }}
  {{- with .pipeline.resources }}
  resources: {{ toJson . }}
  {{- end }}
  {{- else }}
  {{- with .root.Values.resources }}
  resources: {{ toJson . }}
  {{- end }}
  {{- end }}
  volumeMounts:
    - {name: {{ .pipeline.name }}, mountPath: /etc/penstock/{{ .pipeline.name }}, readOnly: true}
    - {name: key, mountPath: /etc/penstock-key, readOnly: true}
    - {name: data, mountPath: {{ .root.Values.receiver.data_root | quote }}}
    - {name: shm, mountPath: /dev/shm}
    - {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "penstock.sharedVolumes" -}}
- name: data
  {{- .Values.storage | toYaml | nindent 2 }}
- {name: tmp, emptyDir: {}}
- {name: shm, emptyDir: {medium: Memory, sizeLimit: {{ .Values.sharedMemoryMb }}M}}
{{- end }}
