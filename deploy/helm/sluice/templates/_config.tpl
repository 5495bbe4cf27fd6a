{{/* Whether Redis is a cluster: "true" or nothing. */}}
{{- define "sluice.clustered" -}}
{{- $redis := .Values.config.redis | default dict -}}
{{- if or .Values.redis.cluster (eq ($redis.topology | default "single") "cluster") }}true{{ end -}}
{{- end -}}

{{/* The environment variable with the password, or nothing. */}}
{{- define "sluice.passwordEnv" -}}
{{- $redis := .Values.config.redis | default dict -}}
{{- if $redis.password_env }}{{ $redis.password_env }}
{{- else if .Values.redis.passwordSecret.name }}REDIS_PASSWORD
{{- end -}}
{{- end -}}

{{/* The plugin's configuration with what the surroundings decide. */}}
{{- define "sluice.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $redis := $config.redis | default dict -}}
{{- $env := include "sluice.passwordEnv" . -}}
{{- if include "sluice.clustered" . -}}
{{- /* Envoy's Redis proxy logs in; it would answer the plugin's AUTH with an error. */ -}}
{{- $_ := unset $redis "password_env" -}}
{{- else if $env -}}
{{- $_ := set $redis "password_env" $env -}}
{{- end -}}
{{- if eq .Values.target "higress" -}}
{{- $address := first .Values.redis.addresses -}}
{{- $host := regexReplaceAll ":[0-9]+$" $address "" -}}
{{- $_ := set $redis "link" "host" -}}
{{- $_ := set $redis "cluster" (printf "outbound|%s||%s" (regexFind "[0-9]+$" $address) $host) -}}
{{- else if not $redis.cluster -}}
{{- $_ := set $redis "cluster" "redis_pipe" -}}
{{- end -}}
{{- $_ := set $config "redis" $redis -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Names of the environment variables that the plugin has to see, as a list. */}}
{{- define "sluice.variables" -}}
{{- $names := list -}}
{{- $env := include "sluice.passwordEnv" . -}}
{{- if and $env (not (include "sluice.clustered" .)) -}}
{{- $names = append $names $env -}}
{{- end -}}
{{- $hash := .Values.config.hash_secret_env -}}
{{- if and $hash (ne $hash $env) -}}
{{- $names = append $names $hash -}}
{{- end -}}
{{- toYaml $names -}}
{{- end -}}

{{/* The image without a scheme. */}}
{{- define "sluice.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "sluice.labels" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}
