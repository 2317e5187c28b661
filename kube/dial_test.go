package kube

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestLastContact shows that the last contact is when data came.
func TestLastContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := net.Pipe()
		defer server.Close()
		d := newDialer(func(context.Context, string, string) (net.Conn, error) { return client, nil })
		defer d.close()
		start := time.Now()
		conn, err := d.DialContext(t.Context(), "tcp", "192.0.2.1:443")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := d.lastContactTime(); !got.Equal(start) {
			t.Errorf("last contact before any data: %s, want when the dialer was made, %s", got, start)
		}
		go server.Write([]byte("data"))
		if _, err := conn.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		heard := time.Now()
		time.Sleep(time.Minute)
		if got := d.lastContactTime(); !got.Equal(heard) {
			t.Errorf("last contact: %s, want %s", got, heard)
		}
	})
}

// TestLastContactIsMonotonic shows that a clock that is set doesn't alter the staleness of endpoints. The clock of
// synctest has no monotonic reading, so that this test uses the real one.
func TestLastContactIsMonotonic(t *testing.T) {
	d := newDialer(nil)
	defer d.close()
	d.lastContact.Store(int64(time.Second))
	if got := d.lastContactTime(); got == got.Round(0) {
		t.Errorf("last contact %s: no monotonic reading", got)
	}
}
