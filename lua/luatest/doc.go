// Package luatest holds the tests that run the scripts of package lua: every
// algorithm against its model in package limit on a real Redis whose scripts
// get their clock from the test, the promises each algorithm makes, and the
// benchmarks of how they are stored.
package luatest
