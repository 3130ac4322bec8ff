{{- define "tacker-cnf.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{/* The labels that select the pods of all programs. */}}
{{- define "tacker-cnf.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tacker-cnf.labels" -}}
{{ include "tacker-cnf.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* The image of a program: of its own tag or digest, if it has one. */}}
{{- define "tacker-cnf.image" -}}
{{- $image := .root.Values.image -}}
{{- $chosen := and (or .own.tag .own.digest) .own | default $image -}}
{{ $image.repository }}{{ if $chosen.digest }}@{{ $chosen.digest }}{{ else }}:{{ $chosen.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* An option: a list by commas, a large number without an exponent. */}}
{{- define "tacker-cnf.value" -}}
{{- if kindIs "slice" . -}}
{{ join "," . }}
{{- else if and (kindIs "float64" .) (eq . (floor .)) -}}
{{ int64 . }}
{{- else -}}
{{ . }}
{{- end -}}
{{- end }}

{{/* tacker_cnf.conf: the options of the chart, then those of the values. */}}
{{- define "tacker-cnf.configuration" -}}
{{- $api := dict "host" "0.0.0.0" "port" .Values.api.port -}}
{{- with .Values.api.endpoint }}{{ $_ := set $api "endpoint" . }}{{ end -}}
{{- if .Values.api.tlsSecret -}}
{{- $_ := set $api "tls_certificate" "/etc/tacker_cnf/tls/tls.crt" -}}
{{- $_ := set $api "tls_key" "/etc/tacker_cnf/tls/tls.key" -}}
{{- end -}}
{{- $options := dict
  "DEFAULT" (dict "state_path" "/var/lib/tacker_cnf")
  "api" $api
  "conductor" (dict "stop_timeout" .Values.conductor.stopTimeoutSeconds)
  "metrics" (dict "host" "0.0.0.0" "api_port" .Values.metrics.port "conductor_port" .Values.metrics.port)
  "scripts" (dict "run" .Values.scripts.run)
  "secrets" (dict "key_file" "/etc/tacker_cnf/keys/secrets.key") -}}
{{- range $group, $values := mergeOverwrite $options (deepCopy .Values.configuration) }}
[{{ $group }}]
{{- range $option, $value := $values }}
{{ $option }} = {{ include "tacker-cnf.value" $value }}
{{- end }}
{{ end }}
{{- end }}

{{/* What all pods have in common. */}}
{{- define "tacker-cnf.pod" -}}
serviceAccountName: {{ .serviceAccount }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- if ne .root.Values.scripts.run "none" }}
hostUsers: false
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .root.Values.user }}
  runAsGroup: {{ .root.Values.user }}
  fsGroup: {{ .root.Values.user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    {{- if eq .root.Values.scripts.run "none" }}
    type: RuntimeDefault
    {{- else }}
    {{- .root.Values.scripts.seccompProfile | toYaml | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "tacker-cnf.securityContext" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
{{- if ne .Values.scripts.run "none" }}
procMount: Unmasked
{{- end }}
{{- end }}

{{- define "tacker-cnf.mounts" -}}
- {name: configuration, mountPath: /etc/tacker_cnf/tacker_cnf.conf, subPath: tacker_cnf.conf, readOnly: true}
- {name: secrets, mountPath: /etc/tacker_cnf/tacker_cnf.conf.d, readOnly: true}
- {name: keys, mountPath: /etc/tacker_cnf/keys, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "tacker-cnf.volumes" -}}
- name: configuration
  configMap: {name: {{ .configMap }}}
- name: secrets
  secret: {secretName: {{ .root.Values.existingSecrets.configuration }}, defaultMode: 0440}
- name: keys
  secret: {secretName: {{ .root.Values.existingSecrets.keyFile }}, defaultMode: 0440}
- name: tmp
  emptyDir: {sizeLimit: {{ .temporarySize }}}
{{- end }}

{{/* The metadata of the pods of a program. */}}
{{- define "tacker-cnf.podMetadata" -}}
labels:
  # not those of the release, whose change would restart the pods
  {{- include "tacker-cnf.selector" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
annotations:
  # a changed configuration restarts the pods
  checksum/configuration: {{ include "tacker-cnf.configuration" .root | sha256sum }}
  {{- if .root.Values.metrics.annotations }}
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .root.Values.metrics.port | quote }}
  {{- end }}
{{- end }}

{{- define "tacker-cnf.placement" -}}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "tacker-cnf.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
  {{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}
