{{/* A line a request, with what was decided. */}}
{{- define "sluice.accessLog" -}}
"%START_TIME% %REQ(:METHOD)% %REQ(:PATH)% %RESPONSE_CODE% %RESPONSE_CODE_DETAILS% %DURATION%ms decision=%FILTER_STATE(wasm.sluice.decision:PLAIN)% limit=%FILTER_STATE(wasm.sluice.limit:PLAIN)% mode=%FILTER_STATE(wasm.sluice.mode:PLAIN)% redis_us=%FILTER_STATE(wasm.sluice.redis_us:PLAIN)%\n"
{{- end -}}

{{/* Labels of the plugin's metrics. */}}
{{- define "sluice.tags" -}}
{{- $boot := .Files.Get "files/pipe.yaml" | fromYaml -}}
{{- $names := list -}}
{{- range $boot.stats_config.stats_tags -}}
{{- $names = append $names .tag_name -}}
{{- end -}}
{{- join ", " $names -}}
{{- end -}}

{{/* The bounds of the plugin's histograms, as Istio's annotation has them. */}}
{{- define "sluice.buckets" -}}
{{- $boot := .Files.Get "files/pipe.yaml" | fromYaml -}}
{{- $buckets := dict -}}
{{- range $boot.stats_config.histogram_bucket_settings -}}
{{- $_ := set $buckets (printf "wasmcustom.%s" .match.suffix) .buckets -}}
{{- end -}}
{{- toJson $buckets -}}
{{- end -}}
