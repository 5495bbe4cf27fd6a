//go:build !wasip1

package config

// described keeps what describes the language, texts and types, beside what
// reads it. The plugin describes nothing: there it is compiled away.
const described = true
