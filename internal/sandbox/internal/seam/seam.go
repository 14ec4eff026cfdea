// Package seam is a test hook: it lets tests provoke races by acting between any two system calls on files.
package seam

// Before, if set, is called before each system call of package beneath. Only tests set it, while no other goroutine uses
// the package.
var Before func()

// Call runs Before.
func Call() {
	if Before != nil {
		Before()
	}
}
