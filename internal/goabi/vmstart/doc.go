// Package vmstart exports proxy_on_vm_start, which comes before a VM's first
// configuration. Import it and set OnStart.
package vmstart
