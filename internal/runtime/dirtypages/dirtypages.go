// Package dirtypages has the kernel record which pages of a memory are written, so that the cost of restoring the memory
// depends on the number of dirty pages and not on the size of the memory.
//
// It uses a userfaultfd in asynchronous write-protect mode: the first write to a protected page removes the protection and
// marks the page as written. The kernel does so in the page fault, without a message to user space. Writes by system calls,
// such as read(2) into the memory, are recorded likewise. PAGEMAP_SCAN lists the written pages. Both need Linux 6.7 and no privilege.
package dirtypages

import (
	"errors"
	"os"
)

// Open returns errUnsupported on a system that lacks the interfaces.
var errUnsupported = errors.New("recording of written pages is not supported by this system (Linux 6.7 or later)")

// PageSize is the granularity in bytes.
var PageSize = os.Getpagesize()
