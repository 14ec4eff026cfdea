//go:build !wasip1

package main

import "errors"

func readRaw(action) (string, error) { return "", errors.New("not built for WASI") }
