package inspect

import "time"

// Figures are numbers of the last 15 minutes. A process keeps them in memory of a fixed size, and
// loses them when it ends.
type Figures struct {
	// Newest is when the last value of each figure was read, and IntervalSeconds the time between two values.
	Newest          time.Time `json:"newest"`
	IntervalSeconds int       `json:"intervalSeconds"`
	// Figures are those that the process has, in the order of the page.
	Figures []Figure `json:"figures"`
}

// Figure is a number over time.
type Figure struct {
	Name FigureName `json:"name"`
	// Values are the oldest first, at most 180; null where the number wasn't known.
	Values []*int `json:"values"`
}

// FigureName says what a [Figure] counts.
type FigureName string

// The figures.
const (
	// FigureStreams: the open calls of the Destination API and of xDS.
	FigureStreams FigureName = "streams"
	// FigureBehind: those of them that have waited for a response for more than a second.
	FigureBehind FigureName = "streamsBehind"
	// FigureChanges: the changes within each interval that [HistoryPath] tells.
	FigureChanges FigureName = "changes"
	// FigureUnpublished: the wanted records that aren't published, and those that wait to be deleted.
	// Only the leader knows them. If counting takes long, a value stands for several intervals.
	FigureUnpublished FigureName = "recordsNotPublished"
)
