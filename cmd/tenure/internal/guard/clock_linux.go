package guard

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the present instant.
func Now() Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every Linux that Go runs on has this clock
	}
	return Instant(t.Nano())
}

// alarm tells when an instant has come, also right after the machine has slept.
type alarm struct {
	C    chan struct{}
	file *os.File
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &alarm{C: make(chan struct{}, 1), file: os.NewFile(uintptr(fd), "alarm")}
	go func() {
		for buf := make([]byte, 8); ; {
			if _, err := a.file.Read(buf); err != nil {
				return
			}
			select {
			case a.C <- struct{}{}:
			default:
			}
		}
	}()
	return a, nil
}

// set arms the alarm for the instant, which may have passed.
func (a *alarm) set(at Instant) error {
	at = max(at, 1) // zero would disarm it
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	var err error
	if e := a.control(func(fd int) { err = unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &spec, nil) }); e != nil {
		return e
	}
	return os.NewSyscallError("timerfd_settime", err)
}

func (a *alarm) control(f func(fd int)) error {
	c, err := a.file.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(func(fd uintptr) { f(int(fd)) })
}

// sweepPause is the time between two looks at what is left of a killed tree.
const sweepPause = 5 * time.Millisecond
