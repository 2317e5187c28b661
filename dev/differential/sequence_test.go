package main

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func texts(sequence []step) []string {
	var all []string
	for i, s := range sequence {
		for _, o := range s {
			all = append(all, fmt.Sprintf("%d: %s", i, o))
		}
	}
	return all
}

// A seed is the whole of a sequence: whoever has it can play it again.
func TestSequenceIsThatOfItsSeed(t *testing.T) {
	once, twice := texts(drawSequence(7, stepsPerSequence)), texts(drawSequence(7, stepsPerSequence))
	if !slices.Equal(once, twice) {
		t.Errorf("the same seed gave\n%v\nand\n%v", once, twice)
	}
	if other := texts(drawSequence(8, stepsPerSequence)); slices.Equal(once, other) {
		t.Error("another seed gave the same")
	}
	if short := texts(drawSequence(7, 3)); !slices.Equal(once[:len(short)], short) {
		t.Error("a shorter sequence isn't the beginning of a longer one")
	}
}

// Every operation is drawn, none too rarely to matter in a run of 4,000 steps.
func TestEveryOperationIsDrawn(t *testing.T) {
	drawn := map[reflect.Type]int{}
	for seed := range uint64(4000 / stepsPerSequence) {
		for _, s := range drawSequence(seed, stepsPerSequence) {
			for _, o := range s {
				drawn[reflect.TypeOf(o)]++
			}
		}
	}
	for _, o := range []operation{
		putService{}, deleteService{}, putPod{}, setStatus{}, deletePod{}, releasePod{}, relabel{}, writeEndpoints{}, handOver{}, deleteEndpoints{}, deleteSlices{}, createNode{}, deleteNode{},
	} {
		if n := drawn[reflect.TypeOf(o)]; n < 50 {
			t.Errorf("%T is drawn %d times", o, n)
		}
	}
}
