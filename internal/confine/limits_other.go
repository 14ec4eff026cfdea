//go:build !unix

package confine

func setLimits(Config) error { return missingError("this system has no resource limits") }
