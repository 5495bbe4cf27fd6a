//go:build wasip1 && tinygo && gc

// The compiler accepts functions without a body only in a package that has an
// assembly file.
