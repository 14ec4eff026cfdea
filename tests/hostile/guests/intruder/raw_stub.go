//go:build !wasip1

package main

import "errors"

func readRaw(order) (string, error) { return "", errors.New("there is no WASI here") }
