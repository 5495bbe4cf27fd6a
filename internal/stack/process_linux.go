package stack

import "syscall"

// ownGroup puts a child in a process group of its own, so that Ctrl-C reaches
// this program only, and lets the kernel kill it when this program dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
