package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
)

// openBrowser opens a link in the user's browser, if the command was started in a terminal with a display.
func openBrowser(link string, stderr io.Writer) {
	opener := browserCommand(runtime.GOOS, link, os.Getenv)
	if opener == nil || !term.IsTerminal(os.Stdout) {
		return
	}
	if err := opener.Start(); err != nil {
		fmt.Fprintf(stderr, "No browser was started: %v\n", err)
		return
	}
	go func() { _ = opener.Wait() }() // the link was printed, too
}

// browserCommand returns the command that opens a link; nil if there is no display. Other users can read the arguments of processes. On
// Linux, the server refuses their connections, except where /proc/net/tcp cannot be read; on Windows they cannot read them; on macOS the link goes
// over standard input.
func browserCommand(system, link string, getenv func(string) string) *exec.Cmd {
	switch system {
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", link)
	case "darwin":
		c := exec.Command("osascript", "-")
		c.Stdin = strings.NewReader("open location \"" + link + "\"\n")
		return c
	case "linux":
		if getenv("DISPLAY")+getenv("WAYLAND_DISPLAY") != "" {
			return exec.Command("xdg-open", link)
		}
	}
	return nil
}
