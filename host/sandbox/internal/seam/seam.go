// Package seam lets a test act between any two system calls on files.
package seam

// Before is called before each system call of package beneath, if it is set. Only tests set it, and not while
// others use the package.
var Before func()

// Call is a place between two system calls.
func Call() {
	if Before != nil {
		Before()
	}
}
