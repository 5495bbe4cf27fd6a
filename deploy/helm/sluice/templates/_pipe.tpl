{{/*
The way to Redis: {stats_config, static_resources: {clusters}}, and for a Redis Cluster
listeners and bootstrap_extensions, with this release's addresses, TLS and password in
it.
*/}}
{{- define "sluice.pipe" -}}
{{- $clustered := include "sluice.clustered" . -}}
{{- $boot := .Files.Get (ternary "files/pipe-cluster.yaml" "files/pipe.yaml" (eq $clustered "true")) | fromYaml -}}
{{- $redis := .Values.config.redis | default dict -}}
{{- $pipe := $redis.cluster | default "redis_pipe" -}}
{{- $server := ternary "redis_nodes" $pipe (eq $clustered "true") -}}
{{- range $c := $boot.static_resources.clusters -}}
{{- if eq $c.name "redis_pipe" -}}
{{- $_ := set $c "name" $pipe -}}
{{- $_ := set $c.load_assignment "cluster_name" $pipe -}}
{{- end -}}
{{- if eq $c.name $server -}}
{{- $endpoints := list -}}
{{- range $a := $.Values.redis.addresses -}}
{{- $socket := dict "address" (regexReplaceAll ":[0-9]+$" $a "" | trimPrefix "[" | trimSuffix "]") "port_value" (regexFind "[0-9]+$" $a | int) -}}
{{- $endpoints = append $endpoints (dict "endpoint" (dict "address" (dict "socket_address" $socket))) -}}
{{- end -}}
{{- $_ := set $c "load_assignment" (dict "cluster_name" $server "endpoints" (list (dict "lb_endpoints" $endpoints))) -}}
{{- if $.Values.redis.tls.enabled -}}
{{- $_ := set $c "transport_socket" (include "sluice.tls" $ | fromYaml) -}}
{{- end -}}
{{- $env := include "sluice.passwordEnv" $ -}}
{{- if and $clustered $env -}}
{{- $options := dict "@type" "type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProtocolOptions" "auth_password" (dict "environment_variable" $env) -}}
{{- $_ := set $c "typed_extension_protocol_options" (dict "envoy.filters.network.redis_proxy" $options) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $clustered -}}
{{- range $l := $boot.static_resources.listeners -}}
{{- if eq $l.name "redis_rl" -}}
{{- $proxy := (first (first $l.filter_chains).filters).typed_config -}}
{{- $_ := set $proxy.settings "op_timeout" (include "sluice.opTimeout" $) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $boot -}}
{{- end -}}

{{/* How long Envoy's Redis proxy waits: 5 ms less than the plugin does. */}}
{{- define "sluice.opTimeout" -}}
{{- $redis := .Values.config.redis | default dict -}}
{{- $timeout := $redis.timeout | default "20ms" -}}
{{- $us := 0 -}}
{{- if regexMatch "^[0-9]+ms$" $timeout -}}
{{- $us = mul (trimSuffix "ms" $timeout | int64) 1000 -}}
{{- else if regexMatch "^[0-9]+us$" $timeout -}}
{{- $us = trimSuffix "us" $timeout | int64 -}}
{{- else if regexMatch "^[0-9]+s$" $timeout -}}
{{- $us = mul (trimSuffix "s" $timeout | int64) 1000000 -}}
{{- else -}}
{{- fail (printf "config.redis.timeout: with a Redis Cluster say it in whole us, ms or s, not %q" $timeout) -}}
{{- end -}}
{{- if le $us 5000 -}}
{{- fail "config.redis.timeout: through Envoy's Redis proxy it has to be more than 5 ms" -}}
{{- end -}}
{{- $rest := sub $us 5000 -}}
{{- $whole := div $rest 1000000 -}}
{{- $part := mod $rest 1000000 -}}
{{- if $part -}}
{{- printf "%d.%ss" $whole (regexReplaceAll "0+$" (printf "%06d" $part) "") -}}
{{- else -}}
{{- printf "%ds" $whole -}}
{{- end -}}
{{- end -}}

{{- define "sluice.caFile" -}}
{{- if or .Values.redis.tls.caSecret .Values.redis.tls.caConfigMap }}/etc/sluice-redis-ca/ca.crt
{{- else }}{{ .Values.redis.tls.caFile | default "/etc/ssl/certs/ca-certificates.crt" }}
{{- end -}}
{{- end -}}

{{/* TLS to Redis, as a transport socket. */}}
{{- define "sluice.tls" -}}
{{- $tls := .Values.redis.tls -}}
{{- $name := $tls.serverName | default (regexReplaceAll ":[0-9]+$" (first .Values.redis.addresses) "" | trimPrefix "[" | trimSuffix "]") -}}
{{- $ip := or (regexMatch "^[0-9.]+$" $name) (contains ":" $name) -}}
name: envoy.transport_sockets.tls
typed_config:
  "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
  {{- if not $ip }}
  sni: {{ $name | quote }}
  {{- end }}
  common_tls_context:
    {{- if $tls.certFile }}
    tls_certificates:
    - certificate_chain: {filename: {{ $tls.certFile | quote }}}
      private_key: {filename: {{ $tls.keyFile | quote }}}
    {{- end }}
    validation_context:
      trusted_ca: {filename: {{ include "sluice.caFile" . | quote }}}
      match_typed_subject_alt_names:
      - san_type: {{ ternary "IP_ADDRESS" "DNS" $ip }}
        matcher: {exact: {{ $name | quote }}}
{{- end -}}

{{/* What a proxy's container needs besides: {env, volumeMounts}. */}}
{{- define "sluice.container" -}}
{{- $env := include "sluice.passwordEnv" . -}}
{{- if .Values.redis.passwordSecret.name }}
env:
- name: {{ $env }}
  valueFrom:
    secretKeyRef:
      name: {{ .Values.redis.passwordSecret.name | quote }}
      key: {{ .Values.redis.passwordSecret.key | default "password" | quote }}
{{- end }}
{{- if include "sluice.volumes" . }}
volumeMounts:
- name: sluice-redis-ca
  mountPath: /etc/sluice-redis-ca
  readOnly: true
{{- end }}
{{- end -}}

{{/* And its pod: a list of volumes. */}}
{{- define "sluice.volumes" -}}
{{- if .Values.redis.tls.enabled -}}
{{- with .Values.redis.tls.caSecret }}
- name: sluice-redis-ca
  secret: {secretName: {{ . | quote }}}
{{- else }}
{{- with $.Values.redis.tls.caConfigMap }}
- name: sluice-redis-ca
  configMap: {name: {{ . | quote }}}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}
