// What a fault does to a call: everything that a page can do to the one who waits for it.

import { openModal } from './desk.js';

const CHUNK_NUMBERS = 1e7;

function spin() {
  for (;;) { /* ends only when the browser stops the script */ }
}

export const never = () => new Promise(() => {});

// Carries out a fault of a call. Returns a promise where the page lives on.
export function strike(variant) {
  switch (variant) {
    case 'loop':
    case 'promise_loop':
      return spin();
    case 'timer_loop':
      setTimeout(spin, 0);
      return never();
    case 'reenter':
      setInterval(spin, 0);
      return never();
    case 'sync_xhr': {
      const request = new XMLHttpRequest();
      request.open('GET', '/channel/silence', false);
      request.send();
      return never();
    }
    case 'alert':
      alert('EasyEDA');
      return undefined;
    case 'modal':
      return openModal('notice', ['ok']);
    case 'memory': {
      const kept = [];
      for (;;) kept.push(new Array(CHUNK_NUMBERS).fill(kept.length + 0.5));
    }
    default:
      return never();
  }
}

const HANGS = ['promise_loop', 'timer_loop', 'reenter', 'never', 'sync_xhr', 'alert', 'modal', 'memory',
  'save_never', 'done_never'];

export const hangs = (fault) => fault !== null && HANGS.includes(fault.variant);
