//go:build unix && !linux

package stack

import "syscall"

// ownGroup puts a child in a process group of its own, so that Ctrl-C reaches
// this program only.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
