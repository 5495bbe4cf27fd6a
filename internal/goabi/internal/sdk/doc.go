// Package sdk names the SDK's own callback functions, which it doesn't export,
// so that the exports of package goabi and of the packages below it can call
// them.
package sdk
