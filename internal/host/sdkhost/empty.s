//go:build !wasip1

// The compiler accepts functions without a body only in a package that has an
// assembly file.
