//go:build !linux

package testenv

func isSuitable(string) bool { return false }
