//go:build !linux

package engine

func advisePopulate([]byte) (ok, done bool) { return false, false }

func discard([]byte) bool { return false }
