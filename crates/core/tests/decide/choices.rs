//! A list of choices from which worlds and events are built. Used up, every choice is the first
//! one, so that shorter lists make simpler worlds and proptest shrinks well.

#[derive(Debug, Clone)]
pub struct Choices {
    bytes: Vec<u8>,
    at: usize,
}

impl Choices {
    pub fn new(bytes: Vec<u8>) -> Choices {
        Choices { bytes, at: 0 }
    }

    pub fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte
    }

    pub fn pick(&mut self, of: usize) -> usize {
        usize::from(self.byte()) % of
    }

    pub fn yes(&mut self) -> bool {
        self.pick(2) == 1
    }

    pub fn one_of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.pick(list.len())].clone()
    }

    pub fn number(&mut self) -> u64 {
        let mut bytes = [0; 8];
        let wide = self.pick(9);
        for byte in bytes.iter_mut().take(wide) {
            *byte = self.byte();
        }
        u64::from_le_bytes(bytes)
    }

    pub fn small(&mut self) -> u32 {
        u32::from(self.byte())
    }

    /// Used up: nothing but first choices follow.
    pub fn is_used_up(&self) -> bool {
        self.at >= self.bytes.len()
    }
}
