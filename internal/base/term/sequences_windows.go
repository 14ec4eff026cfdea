package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences has a console interpret control sequences. Consoles before Windows 10 cannot.
func enableSequences(file *os.File) bool {
	console, mode := windows.Handle(file.Fd()), uint32(0)
	if windows.GetConsoleMode(console, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
