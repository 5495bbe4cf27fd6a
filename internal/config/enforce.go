package config

// enforceAll is a share that is all keys.
const enforceAll = 10_000

// Enforced reports whether a key is among those that the limit may reject. The
// same key always is or never is, and one that is stays so when the share grows.
func (l *Limit) Enforced(key []byte) bool {
	if l.Enforce >= enforceAll {
		return true
	}
	// FNV-1a, then a mix so that its low bits are as good as the rest.
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return int64(h>>32)%enforceAll < l.Enforce
}
