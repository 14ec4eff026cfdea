//go:build !unix

package testenv

import "testing"

// AsNobody returns false: the system has no user whom permissions do not restrict.
func AsNobody(*testing.T) bool { return false }
